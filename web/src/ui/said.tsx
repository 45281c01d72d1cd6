import { signal } from '@preact/signals'

const words = signal('')
let timer: ReturnType<typeof setTimeout> | undefined

/** Says something once, quietly: to the eye for two seconds, and to screen readers. */
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
