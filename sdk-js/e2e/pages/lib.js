// Loads the bundle of one library's page, which is named by ?lib=.
await import(`/bundle/${new URLSearchParams(location.search).get('lib')}.js`);
