import { useLayoutEffect, useRef } from 'preact/hooks'
import { isComposing } from '../ui/composing.ts'

/** Keys and their actions; a function that returns false leaves the key to others. */
type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => unknown>>

const layers: { readonly current: Shortcuts }[] = []

/** Enables these keys while the component is shown; the newest component comes first. Letters typed into a field are not taken. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts)
  latest.current = shortcuts
  // Takes effect before the next key.
  useLayoutEffect(() => {
    layers.push(latest)
    return () => void layers.splice(layers.indexOf(latest), 1)
  }, [])
}

function isTyping({ target }: Event): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isComposing(event) || event.defaultPrevented) return
    if (event.key !== 'Escape' && isTyping(event)) return
    // A dialog keeps its keys.
    if (document.querySelector('dialog[open]') !== null) return
    for (const { current: layer } of [...layers].reverse()) {
      const act = Object.hasOwn(layer, event.key) ? layer[event.key] : undefined
      if (act === undefined || act(event) === false) continue
      event.preventDefault()
      return
    }
  })
}

/** Moves the cursor into the filter of the visible place. */
export function focusFilter(): boolean {
  const filter = document.querySelector<HTMLInputElement>('[data-filter]')
  filter?.focus()
  filter?.select()
  return filter !== null
}
