import type { z } from 'zod'
import { is, named, object, text, texts } from '../wire/json/shapes.ts'

export const templates = named('Templates', object({ object: is('list'), data: texts, selected: text.nullable() }))
export type Templates = z.input<typeof templates>
