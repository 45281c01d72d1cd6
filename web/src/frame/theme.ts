import { signal } from '@preact/signals'
import { keptHere } from '../api/browser-kept.ts'

const name = 'dragoman.theme'
type Theme = 'system' | 'light' | 'dark'

function stored(): Theme {
  const value = keptHere.get(name)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export const theme = signal<Theme>(stored())

/** Applies the chosen theme; `system` follows the machine. */
export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}

/** The next of: as the system, light, dark. */
export function nextTheme(): void {
  theme.value = theme.value === 'system' ? 'light' : theme.value === 'light' ? 'dark' : 'system'
  keptHere.set(name, theme.value)
  applyTheme()
}
