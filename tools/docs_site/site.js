// A page that was opened as a file cannot fetch other pages, so the search shows their titles without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
