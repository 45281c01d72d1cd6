import { signal } from '@preact/signals'

function follow(query: string) {
  const list = matchMedia(query)
  const matching = signal(list.matches)
  list.addEventListener('change', () => {
    matching.value = list.matches
  })
  return matching
}

/** A telephone: tables show what matters most. */
export const isSmall = follow('(max-width: 719px)')
/** There is room for every column. */
export const isLarge = follow('(min-width: 1200px)')
