const words = 'and the old man rowed on over the calm sea, past islands without a name, '.trim().split(' ')

/** A text of so many words, each of which is about a token. */
export function seaText(count: number): string {
  return Array.from({ length: count }, (_, index) => words[index % words.length]).join(' ')
}

/** The tokens before a token whose attention costs about as much as the rest of the work for it: of a small model, so a low number. */
const attentionLength = 1700

/** About how long a longer prompt takes, from the time of a shorter one. */
export function predictMs({ size, ms }: { readonly size: number; readonly ms: number }, longer: number): number {
  const work = (tokens: number) => tokens * (1 + tokens / 2 / attentionLength)
  return (ms * work(longer)) / work(size)
}

/** `1k` for 1,000. */
export function sizeName(size: number): string {
  return size >= 1000 ? `${size / 1000}k` : String(size)
}
