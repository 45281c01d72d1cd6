import type { z } from 'zod'
import { anyObject, is, list, number, object, text } from '../wire/json/shapes.ts'

export const loras = object({
  object: is('list'),
  data: list(object({ id: text, object: is('lora'), created: number, owned_by: text, scaling: number })),
})
export type Loras = z.input<typeof loras>
export const serviceInfo = object({ version: number, software: anyObject, api: anyObject })
export type ServiceInfo = z.input<typeof serviceInfo>
