package requests

import "context"

func (s *Store) list(ctx context.Context, f Filter) (*Page, error) { panic("later") }
