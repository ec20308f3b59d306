"""Models, behind doors of one method."""
