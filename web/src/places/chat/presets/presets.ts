import { signal } from '@preact/signals'
import type { Settings } from '../conversation.ts'
import { isObject } from '../json-object.ts'
import { readSettings } from '../read-conversation.ts'

/** Settings with a name; those of the default are the settings of each new conversation. The model is chosen apart. */
export type Preset = { readonly name: string; readonly isDefault: boolean; readonly settings: Omit<Settings, 'model'> }

const key = 'dragoman.presets'

/** By name, in its order. */
export const presets = signal<readonly Preset[]>(readPresets())

export function defaultSettings(): Partial<Settings> {
  return presets.value.find(({ isDefault }) => isDefault)?.settings ?? {}
}

/** Adds a preset, or replaces the one of this name. There is at most one default. */
export function savePreset(preset: Preset): void {
  const others = without(preset.name).map((each) => (preset.isDefault ? { ...each, isDefault: false } : each))
  write([...others, preset].sort((a, b) => a.name.localeCompare(b.name)))
}

export function deletePreset(name: string): void {
  write(without(name))
}

/** Read again: another tab may have changed them. */
const without = (name: string) => readPresets().filter((each) => each.name !== name)

function write(next: readonly Preset[]): void {
  localStorage.setItem(key, JSON.stringify(next))
  presets.value = next
}

function readPresets(): readonly Preset[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(found) ? found.flatMap((each) => readPreset(each) ?? []) : []
  } catch {
    // Somebody else's value: the next preset replaces it.
    return []
  }
}

function readPreset(value: unknown): Preset | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || !isObject(value.settings)) return undefined
  const { model: _, ...settings } = readSettings(value.settings)
  return { name: value.name, isDefault: value.isDefault === true, settings }
}

addEventListener('storage', (event) => {
  if (event.key === key) presets.value = readPresets()
})
