package storagetest

import stdcontext "context"

// context is that of helpers which property tests call too: their T has a context of its own for each case.
func context() stdcontext.Context { return stdcontext.Background() }
