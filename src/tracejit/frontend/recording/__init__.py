"""What tapes and transforms record, and who answers for what leaves the recording."""
