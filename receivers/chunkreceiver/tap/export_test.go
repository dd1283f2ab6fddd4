package tap

// Remembered returns of how many ids the tap knows that their last call failed.
func (t *Tap) Remembered() int {
	t.retries.mu.Lock()
	defer t.retries.mu.Unlock()
	return len(t.retries.young) + len(t.retries.old)
}
