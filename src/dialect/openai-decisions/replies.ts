import type { z } from 'zod'
import { responseUsage } from '../openai-responses/replies.ts'
import { anyObject, either, flag, is, list, named, number, object, text } from '../wire/json/shapes.ts'

const answerName = text.nullable()
const choiceValue = either([text, flag])
export const decisions = named(
  'Decisions',
  object({
    answers: list(
      either([
        object({ type: is('predicate'), name: answerName, probability: number }),
        object({
          type: is('choice'),
          name: answerName,
          choice: choiceValue,
          confidence: number,
          probabilities: list(object({ value: choiceValue, probability: number })),
        }),
        object({
          type: is('score'),
          name: answerName,
          score: number,
          confidence: number,
          probabilities: list(object({ label: text, value: number, probability: number })),
        }),
        object({ type: is('refusal'), name: answerName }),
      ]),
    ),
    model: text,
    usage: responseUsage,
  }),
)
export type Decisions = z.input<typeof decisions>
/** For questions in tabbyAPI's form. */
export const tabbyDecisions = named(
  'TabbyDecisions',
  object({
    object: is('decisions'),
    model: text,
    prompt_format_version: number,
    answers: anyObject,
    usage: object({ prompt_tokens: number, completion_tokens: number }),
  }),
)
export type TabbyDecisions = z.input<typeof tabbyDecisions>
