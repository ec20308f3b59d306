"""A small labelled set: questions in four languages, and in English beside other scripts, each with its one answer."""

from __future__ import annotations

import pytest

from minutebook.operations import memories, search
from tests.houses import House

NOTES = {
    "es": {
        "copias": "Las copias de seguridad se hacen cada noche a las tres en el servidor de respaldo.",
        "despliegue": "Los despliegues a producción necesitan la aprobación de dos personas.",
        "idioma": "El cliente prefiere que los informes se escriban en español.",
        "clave": "Las contraseñas caducan después de noventa días.",
        "cache": "La caché de sesiones no sobrevive a un reinicio del proceso.",
    },
    "de": {
        "sicherung": "Die Datensicherung läuft jede Nacht um drei Uhr auf dem Ersatzserver.",
        "freigabe": "Größere Änderungen brauchen die Freigabe von zwei Personen.",
        "sprache": "Berichte werden auf Deutsch geschrieben und nicht übersetzt.",
        "verbindung": "Die Datenbankverbindung bricht nach dreißig Sekunden Leerlauf ab.",
        "mehrwert": "Die Mehrwertsteuer wird erst an der Kasse berechnet.",
    },
    "ja": {
        "backup": "バックアップは毎晩三時に予備サーバーで実行されます。",
        "deploy": "本番環境へのデプロイには二人の承認が必要です。",
        "report": "報告書は日本語で書いてください。",
        "tax": "消費税はレジで計算されます。",
        "cache": "セッションキャッシュは再起動すると失われます。",
    },
    "zh": {
        "backup": "备份每天凌晨三点在备用服务器上运行。",
        "deploy": "部署到生产环境需要两个人批准。",
        "report": "报告必须用中文书写。",
        "tax": "增值税在结账时计算。",
        "cache": "会话缓存在进程重启后会丢失。",
    },
}
QUESTIONS = [
    ("es", "¿cuándo se hace la copia de seguridad?", "copias"),
    ("es", "aprobacion para un despliegue", "despliegue"),
    ("es", "en qué idioma quiere los informes", "idioma"),
    ("es", "CONTRASEÑA caduca", "clave"),
    ("es", "cache reinicio", "cache"),
    ("de", "wann läuft die Datensicherung", "sicherung"),
    ("de", "Freigabe grösserer Änderung", "freigabe"),
    ("de", "Sprache der Berichte: deutsch?", "sprache"),
    ("de", "Datenbankverbindung Leerlauf", "verbindung"),
    ("de", "Datenbank", "verbindung"),
    ("de", "mehrwertsteuer", "mehrwert"),
    ("ja", "バックアップはいつ実行", "backup"),
    ("ja", "デプロイの承認", "deploy"),
    ("ja", "報告書の言語は日本語", "report"),
    ("ja", "消費税", "tax"),
    ("ja", "キャッシュ 再起動", "cache"),
    ("zh", "什么时候备份", "backup"),
    ("zh", "谁批准部署", "deploy"),
    ("zh", "报告用什么语言书写", "report"),
    ("zh", "增值税", "tax"),
    ("zh", "缓存丢失", "cache"),
]


def test_questions_in_four_languages_find_their_answer_first(house: House) -> None:
    for language, notes in NOTES.items():
        for slug, content in notes.items():
            house.mother(
                memories.write,
                type="project",
                title=f"Note {slug}",
                content=content,
                slug=f"{language}-{slug}",
            )
    missed = []
    for language, query, slug in QUESTIONS:
        hits = house.jones(search.search, query=query, limit=3).hits
        if not hits or hits[0].slug != f"{language}-{slug}":
            missed.append((query, [hit.slug for hit in hits]))
    assert missed == []


@pytest.mark.parametrize(("language", "query", "slug"), QUESTIONS[::5])
def test_what_matched_is_marked_in_every_script(house: House, language: str, query: str, slug: str) -> None:
    house.mother(memories.write, type="project", title="Note", content=NOTES[language][slug], slug=slug)
    (hit,) = house.jones(search.search, query=query).hits
    assert hit.marks
