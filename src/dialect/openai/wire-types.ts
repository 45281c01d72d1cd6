import { z } from 'zod'

/** The message of a number has the complete range: "at most 2" would leave the minimum to guess. */
export function numberBetween(min: number, max: number) {
  const error = `a number from ${min} to ${max}`
  return z.number({ error }).min(min, { error }).max(max, { error })
}

export function between(min: number, max: number) {
  return numberBetween(min, max).nullish()
}

export function atLeast(min: number) {
  const error = `a number of at least ${min}`
  return z.number({ error }).min(min, { error }).nullish()
}

export function above(min: number) {
  const error = `a number above ${min}`
  return z.number({ error }).gt(min, { error }).nullish()
}

export function integerFrom(min: number) {
  const error = `an integer of at least ${min}`
  return z.int({ error }).min(min, { error }).nullish()
}

export function integerBetween(min: number, max: number) {
  const error = `an integer from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

export const anyNumber = z.number().nullish()
export const flag = z.boolean().nullish()
export const text = z.string().nullish()
export const nonEmptyText = z.string().min(1)
/** An object with arbitrary keys: a JSON Schema, template variables. */
export const jsonObject = z.record(z.string(), z.unknown())
