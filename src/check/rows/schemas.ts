import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { callTokens, chat, user } from '../probe/asks.ts'
import { chatContent, finishOf } from '../probe/read.ts'
import { answered, finding, holds, type Row, rowsOf, severe, short, slight, unproven } from '../probe/row.ts'

const jsonSchema = (schema: unknown, more: object = {}) => ({
  max_tokens: callTokens,
  response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  ...more,
})
const strict = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const person = strict({
  name: { type: 'string', enum: ['Ada', 'Bo'] },
  age: { type: 'integer' },
  mood: { type: 'string', enum: ['calm', 'cross'] },
})
const personForm = z.strictObject({
  name: z.enum(['Ada', 'Bo']),
  age: z.number().refine(Number.isInteger),
  mood: z.enum(['calm', 'cross']),
})
/** No model writes this unless it has to. */
const oddNames = strict({
  zq: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 2 },
  k7: { type: 'string', enum: ['ÿ-1'] },
})
const oddForm = z.strictObject({ zq: z.array(z.boolean()), k7: z.literal('ÿ-1') })

/** JSON that a schema allows, and nothing around it. */
function allowed(form: z.ZodType, more: object, content = 'Invent a person.'): Row['steps'] {
  return answered((server) => chat(server, { messages: [user(content)], ...more }), { isOptional: true })(([reply]) => {
    const text = chatContent(reply)
    if (form.safeParse(parseJson(text)).success) return undefined
    return finishOf(reply) === 'length'
      ? unproven('the limit of tokens came before the end')
      : `the text is ${JSON.stringify(short(text))}`
  })
}

export const schemaRows = rowsOf('schemas', {
  strict: [
    severe('With a strict JSON Schema, the text is JSON that it allows.', 'programs that parse replies'),
    allowed(personForm, jsonSchema(person)),
  ],
  odd: [
    severe('A strict JSON Schema holds for what the model would not write by itself.', 'programs that parse replies'),
    allowed(oddForm, jsonSchema(oddNames), 'Hello.'),
  ],
  streamed: [
    severe('In a stream, the text is JSON that the schema allows.', 'programs that parse replies'),
    allowed(personForm, jsonSchema(person, { stream: true })),
  ],
  nested: [
    severe('Schemas that refer to definitions hold.', 'Pydantic and Zod, whose schemas have `$defs`'),
    allowed(
      z.strictObject({ first: personForm }),
      jsonSchema({ ...strict({ first: { $ref: '#/$defs/person' } }), $defs: { person } }),
    ),
  ],
  'json-object': [
    severe('`json_object` gives a JSON object.', 'programs that parse replies'),
    allowed(
      z.looseObject({}),
      { max_tokens: 100, response_format: { type: 'json_object' } },
      'Answer with a JSON object that has your name and age.',
    ),
  ],
  invalid: [
    slight('A schema that is none is refused.', 'developers, who would believe that it holds'),
    function* (server) {
      const { status } = yield chat(server, { messages: [user('Hello.')], ...jsonSchema({ type: 'no-such-type' }) })
      if (status >= 500) return finding(`the server answers ${status}`)
      return status >= 400 ? holds : finding('it is accepted')
    },
  ],
})
