"""Tables and pages to show: in a terminal, as Markdown, as HTML, and in the formats of CI systems."""
