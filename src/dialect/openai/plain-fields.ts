import type { PlainCheck } from '../wire/fieldwise.ts'

const isFlag: PlainCheck = (value) => typeof value === 'boolean'
const isText: PlainCheck = (value) => typeof value === 'string'
const isNonEmptyText: PlainCheck = (value) => typeof value === 'string' && value !== ''
const isTokenCount: PlainCheck = (value) => Number.isSafeInteger(value) && (value as number) >= 1

function isBetween(min: number, max: number): PlainCheck {
  return (value) => typeof value === 'number' && value >= min && value <= max
}

/** What nearly every caller sends in the fields that OpenAI's generating protocols share; the schema is asked about the rest. */
export const plainCommonFields = {
  model: isNonEmptyText,
  stream: isFlag,
  temperature: isBetween(0, 2),
  top_p: isBetween(0, 1),
  presence_penalty: isBetween(-2, 2),
  frequency_penalty: isBetween(-2, 2),
  max_tokens: isTokenCount,
  max_completion_tokens: isTokenCount,
  seed: (value) => Number.isSafeInteger(value),
  n: (value) => value === 1,
  stop: isNonEmptyText,
  user: isText,
} as const satisfies Readonly<Record<string, PlainCheck>>
