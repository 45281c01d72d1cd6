import { z } from 'zod'
import { cancelShape } from '../wire/cancel-keys.ts'
import { jsonObject, list, looseObject } from '../wire/first-fault.ts'
import { above, flag, nonEmptyText, text } from '../wire/wire-types.ts'

const maxQuestions = 400
const maxChoices = 26
const maxLevels = 10

const instructions = z
  .union([
    nonEmptyText,
    list(
      z.discriminatedUnion('type', [
        looseObject({ type: z.literal('input_text'), text: z.string() }),
        looseObject({ type: z.literal('input_json'), data: z.unknown() }),
      ]),
    ).min(1),
  ])
  .nullish()
/** The names for a question in OpenAI's and in tabbyAPI's form. */
const common = { name: text, instructions, id: nonEmptyText.nullish(), question: nonEmptyText.nullish() }

const choices = list(looseObject({ value: z.union([nonEmptyText, z.boolean()]), description: text }), {
  error: `an array of 2 to ${maxChoices} choices`,
  max: { count: maxChoices, error: `at most ${maxChoices} choices` },
})
const options = list(looseObject({ name: nonEmptyText, description: text }), {
  error: `an array of 2 to ${maxChoices} options`,
  max: { count: maxChoices, error: `at most ${maxChoices} options` },
})
const levels = list(z.union([nonEmptyText, looseObject({ label: nonEmptyText, description: text })]), {
  error: `an array of 2 to ${maxLevels} levels`,
  max: { count: maxLevels, error: `at most ${maxLevels} levels` },
}).min(2)

const question = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('predicate'), ...common }),
  looseObject({ type: z.literal('yes_no'), ...common, yes_description: text, no_description: text }),
  looseObject({ type: z.literal('choice'), ...common, choices: choices.min(2).nullish(), options: options.min(2).nullish() }),
  looseObject({ type: z.literal('score'), ...common, levels }),
])

export const decisionSchema = looseObject({
  model: nonEmptyText,
  input: z.union([nonEmptyText, z.array(z.unknown()).min(1), jsonObject], { error: 'a text, or an array of messages' }),
  questions: list(question, {
    error: 'an array of questions',
    max: { count: maxQuestions, error: `at most ${maxQuestions} questions` },
  }).min(1, { error: 'at least one question' }),
  temperature: above(0),
  enable_thinking: flag,
  template_vars: jsonObject.nullish(),
  prompt_cache_key: text,
  safety_identifier: text,
  ...cancelShape,
})
export type DecisionWire = z.output<typeof decisionSchema>
export type QuestionWire = DecisionWire['questions'][number]
