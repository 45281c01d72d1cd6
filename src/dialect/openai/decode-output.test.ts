import { describe, expect, test } from 'vitest'
import type { OutputConstraint } from '../../contract/request.ts'
import { decodeChat } from '../openai-chat/decode.ts'

const tools = [{ type: 'function', function: { name: 'f' } }]
const schema = { type: 'object', properties: { a: { type: 'integer' } } }
const asked = (format: object) => ({ response_format: format })
const jsonSchema = { type: 'json-schema', schema, strict: false } as const
const structure = { begin: '<f>', schema, end: '</f>' }
const tags = { type: 'structural_tag', structures: [structure], triggers: ['<f'] }
const tagged: OutputConstraint = { type: 'tagged', structures: [structure], triggers: ['<f'] }

function outputOf(fields: object): OutputConstraint {
  return decodeChat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }, 'x').request.output
}

describe('decodeOutput', () => {
  test.each<[object, OutputConstraint]>([
    [{}, { type: 'text' }],
    [asked({ type: 'text' }), { type: 'text' }],
    [asked({}), { type: 'text' }],
    [asked({ type: 'json_object' }), { type: 'json-object' }],
    [asked({ type: 'json' }), { type: 'json-object' }],
    [asked({ type: 'json_object', schema }), jsonSchema],
    [asked({ type: 'json_object', schema: JSON.stringify(schema) }), jsonSchema],
    [asked({ type: 'json_schema', json_schema: { name: 'n', schema } }), { ...jsonSchema, name: 'n' }],
    [
      asked({ type: 'json_schema', json_schema: { name: 'n', schema, strict: true } }),
      { ...jsonSchema, name: 'n', strict: true },
    ],
    [asked({ type: 'json_schema', json_schema: { schema: JSON.stringify(schema), strict: null } }), jsonSchema],
    [
      asked({ type: 'json_schema', json_schema: { name: 'n', description: 'd', schema } }),
      { ...jsonSchema, name: 'n', description: 'd' },
    ],
    [asked({ type: 'json_schema', json_schema: { schema: true } }), { ...jsonSchema, schema: true }],
    [asked({ type: 'json_schema', json_schema: schema }), jsonSchema],
    [asked({ type: 'json_schema', json_schema: { ...schema, strict: true } }), { ...jsonSchema, strict: true }],
    [asked({ type: 'regex', pattern: '[ab]+' }), { type: 'regex', pattern: '[ab]+' }],
    [asked({ type: 'grammar', grammar: 'root ::= "a"' }), { type: 'gbnf', grammar: 'root ::= "a"' }],
    [asked({ type: 'grammar', grammar: 'start: "a"' }), { type: 'gbnf', grammar: 'start: "a"' }],
    [asked(tags), tagged],
    [asked({ type: 'structural_tag', tags: [{ ...structure, schema: JSON.stringify(schema) }], triggers: ['<f'] }), tagged],
    [{ json_schema: schema }, jsonSchema],
    [{ guided_json: JSON.stringify(schema) }, jsonSchema],
    [{ regex_pattern: 'a' }, { type: 'regex', pattern: 'a' }],
    [{ guided_regex: 'a' }, { type: 'regex', pattern: 'a' }],
    [{ regex: '' }, { type: 'text' }],
    [{ grammar: 'root ::= "a"' }, { type: 'gbnf', grammar: 'root ::= "a"' }],
    [{ guided_choice: ['yes', 'no'] }, { type: 'gbnf', grammar: 'root ::= "yes" | "no"' }],
    [{ guided_choice: ['a"b\\\n'] }, { type: 'gbnf', grammar: 'root ::= "a\\u0022b\\u005c\\u000a"' }],
    [{ structured_outputs: {} }, { type: 'text' }],
    [{ structured_outputs: { json: schema } }, jsonSchema],
    [{ structured_outputs: { json_object: true } }, { type: 'json-object' }],
    [{ structured_outputs: { regex: 'a' } }, { type: 'regex', pattern: 'a' }],
    [{ structured_outputs: { grammar: 'root ::= "a"' } }, { type: 'gbnf', grammar: 'root ::= "a"' }],
    [{ structured_outputs: { structural_tag: tags } }, tagged],
    [{ structured_outputs: { structural_tag: JSON.stringify(tags) } }, tagged],
    [{ structured_outputs: { choice: ['a'] } }, { type: 'gbnf', grammar: 'root ::= "a"' }],
  ])('%j gives %j', (fields, expected) => {
    expect(outputOf(fields)).toEqual(expected)
  })

  test('a neutral format stands beside a constraint, and so does the same constraint in other words', () => {
    expect(outputOf({ response_format: { type: 'text' }, regex: 'a' })).toEqual({ type: 'regex', pattern: 'a' })
    expect(outputOf({ response_format: { type: 'json_object', schema }, json_schema: schema })).toEqual(jsonSchema)
  })

  test.each<[object, string]>([
    [asked({ type: 'xml' }), 'response_format.type'],
    [asked({ strict: true }), 'response_format.type'],
    [{ response_format: 'json' }, 'response_format'],
    [asked({ type: 'json_schema' }), 'response_format.json_schema'],
    [asked({ type: 'json_schema', json_schema: { name: 'n' } }), 'response_format.json_schema.schema'],
    [asked({ type: 'json_schema', json_schema: { name: 'n', schema: '{' } }), 'response_format.json_schema.schema'],
    [asked({ type: 'json_schema', json_schema: { name: 'n', schema: '[]' } }), 'response_format.json_schema.schema'],
    [asked({ type: 'json_schema', json_schema: { name: 'n', schema: [1] } }), 'response_format.json_schema.schema'],
    [asked({ type: 'json_object', schema: 'null' }), 'response_format.schema'],
    [asked({ type: 'regex' }), 'response_format.pattern'],
    [asked({ type: 'grammar', grammar: 'yes or no' }), 'response_format.grammar'],
    [asked({ type: 'structural_tag', triggers: ['<f'] }), 'response_format.structures'],
    [asked({ type: 'structural_tag', structures: [structure], triggers: ['<g', '<f'] }), 'response_format.triggers[0]'],
    [asked({ type: 'structural_tag', structures: [structure], triggers: [] }), 'response_format.structures[0].begin'],
    [asked({ type: 'structural_tag', tags: [{ ...structure, schema: '{' }], triggers: ['<'] }), 'response_format.tags[0].schema'],
    [asked({ type: 'structural_tag', tags: [{ begin: '<f>', end: '' }], triggers: ['<'] }), 'response_format.tags[0].schema'],
    [asked({ type: 'structural_tag', format: { type: 'any_text' } }), 'response_format.triggers'],
    [{ structured_outputs: { structural_tag: '{' } }, 'structured_outputs.structural_tag'],
    [{ structured_outputs: { structural_tag: 'null' } }, 'structured_outputs.structural_tag'],
    [
      { structured_outputs: { structural_tag: JSON.stringify({ ...tags, structures: [{ begin: 5 }] }) } },
      'structured_outputs.structural_tag.structures[0].begin',
    ],
    [
      { structured_outputs: { structural_tag: { ...tags, structures: [{ begin: 5 }] } } },
      'structured_outputs.structural_tag.structures[0].begin',
    ],
    [
      { structured_outputs: { structural_tag: '{"type":"structural_tag","format":{}}' } },
      'structured_outputs.structural_tag.triggers',
    ],
    [{ structured_outputs: { structural_tag: {} } }, 'structured_outputs.structural_tag.type'],
    [
      { structured_outputs: { structural_tag: { ...tags, triggers: ['<g'] } } },
      'structured_outputs.structural_tag.structures[0].begin',
    ],
    [{ structured_outputs: { structural_tag: tags, regex: 'a' } }, 'structured_outputs.structural_tag'],
    [{ grammar_string: 'yes or no' }, 'grammar_string'],
    [{ guided_choice: [] }, 'guided_choice'],
    [{ regex: 'a', regex_pattern: 'b' }, 'regex'],
    [{ response_format: { type: 'json_object' }, regex_pattern: 'a' }, 'regex_pattern'],
    [{ json_schema: schema, grammar: 'root ::= "a"' }, 'grammar'],
    [{ structured_outputs: { json: schema, regex: 'a' } }, 'structured_outputs.regex'],
    [{ json_schema: JSON.parse(`${'{"not":'.repeat(3000)}1${'}'.repeat(3000)}`) }, 'json_schema'],
    [{ tools, tool_choice: 'required', regex_pattern: 'a' }, 'regex_pattern'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => outputOf(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })

  test('OpenAI’s format stands beside a forced call, whose turn has no text to bind', () => {
    expect(outputOf({ tools, tool_choice: 'required', response_format: { type: 'json_object' } })).toEqual({
      type: 'json-object',
    })
  })
})
