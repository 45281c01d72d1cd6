import type { Settings } from '../conversation.ts'
import { isObject } from '../json-object.ts'
import { sharedList } from '../kept/shared-list.ts'
import { readSettings } from '../read-conversation.ts'

/** Settings with a name; those of the default are the settings of each new conversation. The model is chosen apart. */
export type Preset = { readonly name: string; readonly isDefault: boolean; readonly settings: Omit<Settings, 'model'> }

const kept = sharedList('dragoman.presets', readPreset)
/** By name, in its order. */
export const presets = kept.list

export function defaultSettings(): Partial<Settings> {
  return presets.value.find(({ isDefault }) => isDefault)?.settings ?? {}
}

/** Adds a preset, or replaces the one of this name. There is at most one default. */
export function savePreset(preset: Preset): void {
  kept.change((before) => {
    const others = without(before, preset.name).map((each) => (preset.isDefault ? { ...each, isDefault: false } : each))
    return [...others, preset].sort((a, b) => a.name.localeCompare(b.name))
  })
}

export function deletePreset(name: string): void {
  kept.change((before) => without(before, name))
}

const without = (all: readonly Preset[], name: string) => all.filter((each) => each.name !== name)

function readPreset(value: unknown): Preset | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || !isObject(value.settings)) return undefined
  const { model: _, ...settings } = readSettings(value.settings)
  return { name: value.name, isDefault: value.isDefault === true, settings }
}
