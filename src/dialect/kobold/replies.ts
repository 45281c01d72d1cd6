import type { z } from 'zod'
import { list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

const end = oneOf(['stop', 'length', 'content_filter'])
export const generated = object({
  results: list(object({ text, finish_reason: end, prompt_tokens: number, completion_tokens: number })),
})
export type KoboldGenerated = z.input<typeof generated>
export const piece = object({ token: text, finish_reason: end.nullable() })
export type KoboldPiece = z.input<typeof piece>
export const error = named('KoboldError', object({ detail: object({ msg: text, type: text }) }))
export type KoboldError = z.input<typeof error>
