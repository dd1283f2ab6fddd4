// Package apiextension serves Fermata's read API (package api) inside a Collector, as the extension `fermata_api`: one
// binary plays every role, and a Collector that only reads has nothing but this extension.
package apiextension
