// Package playground serves a chat page that asks a model through the tap, so that a newcomer sees an own request on one
// timeline within a minute: streamed by the tap, measured in the page by the browser SDK, joined by id.
//
// The page talks to its own origin only; what it needs of the tap and of the RUM receiver is handed on from here, so that
// nothing else has to allow cross-origin requests, and whichever ports were chosen. Beside the faults of the scripted model it has
// faults of the way: answers held back as by a buffering proxy are held back here, between the tap and the page.
package playground
