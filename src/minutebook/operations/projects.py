"""The units of governance, and the directories bound to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.controller import across
from minutebook.ledger import events, inbox, memories, reach
from minutebook.ledger import projects as kept
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.projects import Project, ProjectView, Reaching, Repo, Workspace
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import canonical_slug, check_name, one_line, slug_from
from minutebook.operations.given import After, Limit, page_of
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy.slugs import numbered

Name = Annotated[str, Help("what it is called"), MaxLen(400)]
ProjectRef = Annotated[str, Help("a project's id or slug"), MaxLen(300)]


@operation(Access.OPERATE)
def create(
    call: Call,
    name: Name,
    slug: Annotated[
        str | None, Help("its short name; made from the name if not given"), MaxLen(1_000)
    ] = None,
    id: Annotated[str | None, Help("the id from a workspace file that travelled here")] = None,
) -> Project:
    """Create a project.

    Most people run `minutebook init` in the project's directory, which does this and binds the directory.

    Example:
        minutebook projects create "Checkout service"
    """
    name = check_name(name, "project")
    if call.actor.project is not None:
        raise MinutebookError(
            "other_project", f"{call.actor.name} is bound to one project and makes no other."
        )
    if id is not None and not is_ulid(id):
        raise MinutebookError("invalid_input", "A project's id is a ULID: 26 characters.", id=id[:40])
    if id is not None and kept.find(call.tx, id) is not None:
        raise MinutebookError("exists", "A project of that id exists already.", id=id)
    if slug is not None:
        chosen = canonical_slug(slug)
        if kept.find(call.tx, chosen) is not None:
            raise MinutebookError("exists", f"There is a project {chosen!r} already.", slug=chosen)
    else:
        base = slug_from(name)
        chosen = numbered(base, kept.slugs_like(call.tx, base))
    project = Project(
        id=id or call.new_id(), slug=chosen, name=name, created_by=call.actor.id, created_at=call.now
    )
    kept.insert(call.tx, project)
    _event(call, "project.created", project)
    return project


def _event(call: Call, kind: str, project: Project, **detail: str) -> int:
    return events.append(
        call.tx,
        kind=kind,
        subject=project.id,
        project=project.id,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        detail={"slug": project.slug, **detail},
    )


@operation(Access.READ)
def list_(
    call: Call,
    archived: Annotated[bool, Help("also archived ones")] = False,
    after: After | None = None,
    limit: Limit = 50,
) -> Page[Project]:
    """List projects.

    Example:
        minutebook projects list
    """
    found = kept.list_(call.tx, archived=archived, only=call.actor.project, after=after, limit=limit + 1)
    return page_of(found, limit, "id")


def _project(call: Call, ref: str | None) -> Project:
    """The project that is named, else the one the call is about. A bound caller names no other."""
    if ref is None:
        return call.project
    found = kept.find(call.tx, ref)
    bound = call.actor.project
    if found is None or (bound is not None and found.id not in (bound, GLOBAL)):
        raise MinutebookError(
            "not_found", f"There is no project {ref[:80]!r}.", hint="minutebook projects list"
        )
    return found


@operation(Access.READ)
def show(call: Call, ref: ProjectRef | None = None) -> ProjectView:
    """Show a project: where it was seen, and how much it holds. The current one if none is named.

    Example:
        minutebook projects show
        minutebook projects show --ref checkout-service
    """
    project = _project(call, ref)
    counts = {f"memories {status}": n for status, n in memories.counts(call.tx, project.id).items()}
    counts |= {f"proposals {status}": n for status, n in inbox.counts(call.tx, project.id).items()}
    return ProjectView(
        project=project,
        workspaces=tuple(kept.workspaces(call.tx, project.id)),
        repos=tuple(repo.slug for repo in kept.repos(call.tx, project.id)),
        counts=counts,
    )


@operation(Access.OPERATE)
def edit(
    call: Call,
    ref: ProjectRef,
    name: Annotated[str | None, Help("another name"), MaxLen(400)] = None,
    slug: Annotated[str | None, Help("another short name"), MaxLen(1_000)] = None,
) -> Project:
    """Rename a project. Its id, and so its memory, stays.

    Example:
        minutebook projects edit checkout-service --name "Payments"
    """
    project = _not_global(_project(call, ref))
    changed = replace(
        project,
        name=project.name if name is None else check_name(name, "project"),
        slug=project.slug if slug is None else canonical_slug(slug),
    )
    other = kept.find(call.tx, changed.slug)
    if other is not None and other.id != project.id:
        raise MinutebookError("exists", f"There is a project {changed.slug!r} already.", slug=changed.slug)
    kept.update(call.tx, changed)
    seq = _event(call, "project.edited", changed)
    if changed.slug != project.slug:
        reach.rename(call.tx, project.id, changed.slug, _act(call, seq), call.new_id)
    return changed


def _not_global(project: Project) -> Project:
    if project.id == GLOBAL:
        raise MinutebookError("bad_transition", "The global project is built in and stays as it is.")
    return project


@operation(Access.OPERATE)
def archive(call: Call, ref: ProjectRef) -> Project:
    """Put a project away: it is listed no more and takes no writes; nothing is lost.

    Example:
        minutebook projects archive checkout-service
    """
    project = _not_global(_project(call, ref))
    archived = replace(project, archived_at=call.now)
    kept.update(call.tx, archived)
    reach.pause(call.tx, project.id, _act(call, _event(call, "project.archived", archived)))
    return archived


@operation(Access.OPERATE)
def restore(call: Call, ref: ProjectRef) -> Project:
    """Take an archived project into use again.

    Example:
        minutebook projects restore checkout-service
    """
    restored = replace(_not_global(_project(call, ref)), archived_at=None)
    kept.update(call.tx, restored)
    act = _act(call, _event(call, "project.restored", restored))
    reach.resume(call.tx, restored.id, restored.slug, act, call.new_id)
    return restored


def _act(call: Call, seq: int) -> reach.Act:
    return reach.Act(call.actor.id, call.now, seq)


@operation(Access.REVIEW)
def link(
    call: Call, other: Annotated[str, Help("the project to read from: id or slug"), MaxLen(300)]
) -> Reaching:
    """Let this project read what stands in another one, where it is about the task at hand.

    Only what stands there for the whole project is read: no agent's own memory, and nothing that was retired. What
    governs there informs here. The other project learns nothing of it, and reads nothing of this one.

    Example:
        minutebook projects link infra
    """
    across.check_sees_all(call)
    project, found = _not_global(call.project), _not_global(_project(call, other))
    if found.id == project.id:
        raise MinutebookError("cycle", "A project reads its own memory without a link.")
    if found.archived_at is not None:
        raise MinutebookError("bad_transition", f"The project {found.slug!r} is archived.")
    across.check_room(call, project.id)
    seq = _event(call, "project.linked", project, to=found.id)
    way = reach.Way(project.id, found.id)
    id = call.new_id()
    if not reach.open_(call.tx, id, way, found.slug, _act(call, seq)):
        raise MinutebookError("exists", f"{project.slug!r} reads from {found.slug!r} already.")
    return Reaching(id, found.slug, None, None, None, call.actor.id, call.now)


@operation(Access.REVIEW)
def unlink(
    call: Call, other: Annotated[str, Help("the project that is read from: id or slug"), MaxLen(300)]
) -> Page[Reaching]:
    """Read from another project no more; links to single memories of it stay.

    Example:
        minutebook projects unlink infra
    """
    project = _not_global(call.project)
    way = reach.way_to(call.tx, project.id, other)
    if way is None:
        raise MinutebookError(
            "not_found", f"There is no link to a project {other[:80]!r}.", hint="minutebook projects links"
        )
    reach.close(call.tx, way, _act(call, _event(call, "project.unlinked", project, to=way.other)))
    return links(call)


@operation(Access.READ)
def links(call: Call, after: After | None = None, limit: Limit = 50) -> Page[Reaching]:
    """List what this project reads of others: whole projects, and single memories that are linked.

    Example:
        minutebook projects links
    """
    return page_of(reach.list_(call.tx, call.project.id, after=after, limit=limit + 1), limit, "id")


@operation(Access.PROPOSE)
def see(
    call: Call,
    path: Annotated[str, Help("the directory"), MaxLen(4_096)],
    host: Annotated[str, Help("the machine"), MaxLen(255)],
    ref: Annotated[str | None, Help("the project, when not the current one"), MaxLen(300)] = None,
) -> Page[Workspace]:
    """Note that the project's id file was seen in a directory, and list where else it was.

    `minutebook init` does this. The same id at two paths of one machine is normal for clones and
    worktrees, and a mistake for a copied project; doctor reports it.

    Example:
        minutebook projects see . my-laptop
    """
    project = _not_global(_project(call, ref))
    kept.see_workspace(call.tx, project=project.id, host=one_line(host), path=one_line(path), at=call.now)
    return Page(tuple(kept.workspaces(call.tx, project.id)))


@operation(Access.OPERATE)
def forget(
    call: Call,
    path: Annotated[str, Help("the directory"), MaxLen(4_096)],
    host: Annotated[str, Help("the machine"), MaxLen(255)],
) -> Page[Workspace]:
    """Forget a directory that the project is bound to no more. No memory is touched.

    Example:
        minutebook projects forget old-clone my-laptop
    """
    project = call.project
    if not kept.forget_workspace(call.tx, project=project.id, host=one_line(host), path=one_line(path)):
        raise MinutebookError("not_found", "The project was not seen there.", hint="minutebook projects show")
    return Page(tuple(kept.workspaces(call.tx, project.id)))


@operation(Access.OPERATE)
def add_repo(
    call: Call,
    name: Name,
    remote: Annotated[str | None, Help("its address"), MaxLen(1_000)] = None,
) -> Repo:
    """Name a repository of the project, so that memory can be scoped to it.

    Example:
        minutebook projects add-repo api --remote git@example.com:shop/api.git
    """
    project = _not_global(call.project)
    slug = canonical_slug(name)
    if kept.find_repo(call.tx, project.id, slug) is not None:
        raise MinutebookError("exists", f"The project has a repository {slug!r} already.", slug=slug)
    repo = Repo(call.new_id(), project.id, slug, None if remote is None else one_line(remote), call.now)
    kept.add_repo(call.tx, repo)
    _event(call, "project.repo_added", project)
    return repo
