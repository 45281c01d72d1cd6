import { signal } from '@preact/signals'

const words = signal('')
let timer: ReturnType<typeof setTimeout> | undefined

/** Announces something once, quietly: visible for two seconds, and read by screen readers. */
export function say(text: string): void {
  words.value = text
  clearTimeout(timer)
  timer = setTimeout(() => {
    words.value = ''
  }, 2000)
}

export function Said() {
  return (
    <div role="status" class={words.value === '' ? 'unseen' : 'said'}>
      {words.value}
    </div>
  )
}
