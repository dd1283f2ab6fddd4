package requests

import "context"

// Statements returns the text of every query by name.
func Statements() map[string]string {
	out := map[string]string{}
	for _, q := range []query{streamsByID, gatewaysByID, clientsByID, aliasesByName, statisticsSettings, sessionClocks, sessionsClocks, listRequests} {
		out[q.name] = q.sql
	}
	return out
}

// Limited returns the context that reads run under.
func Limited(ctx context.Context, l ReadLimits) context.Context { return l.context(ctx, listRequests) }
