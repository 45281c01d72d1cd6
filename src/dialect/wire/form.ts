import { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { looseObject } from './first-fault.ts'

/**
 * The body of a loader's form, whose clients send what a user typed: an empty text counts as absent, and a number may be written as text.
 */
export function form<Shape extends z.ZodRawShape>(shape: Shape) {
  const fields = Object.entries(shape).map(([name, field]) => [name, numberFrom(field as z.ZodType)])
  return z.preprocess(withoutEmpty, looseObject(Object.fromEntries(fields) as Shape))
}

function withoutEmpty(body: unknown): unknown {
  if (!isObject(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''))
}

/** Reads a number from text, in fields that allow only numbers. */
function numberFrom(field: z.ZodType) {
  return z.preprocess((value) => {
    const isNumber = typeof value === 'string' && /^\s*-?\d{1,15}(\.\d{1,15})?\s*$/.test(value)
    return isNumber && !field.safeParse(value).success ? Number(value) : value
  }, field)
}
