import type { z } from 'zod'
import { anyObject, named, object, text, texts } from '../wire/json/shapes.ts'

export const presets = named('Presets', object({ selected_preset: text.nullable(), overrides: anyObject, presets: texts }))
export type Presets = z.input<typeof presets>
