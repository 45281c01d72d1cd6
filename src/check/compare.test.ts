import { expect, test } from 'vitest'
import { type Answer, changesOf } from './compare.ts'

const answer = (more: Partial<Answer>): Answer => ({ text: '', calls: [], outputTokens: 10, ms: 1, ...more })
const call = (city: string) => ({ name: 'get_weather', input: { city } })

test.each<[string, Partial<Answer>, Partial<Answer>, object, readonly string[]]>([
  ['the same text', { text: 'It rains.' }, { text: 'It rains.' }, {}, []],
  ['other words', { text: 'It rains.' }, { text: 'There is rain.' }, {}, []],
  ['a refusal by the server', { text: 'It rains.' }, { failure: 'no' }, {}, ['form']],
  ['a failure that was there before', { failure: 'no' }, { text: 'It rains.' }, {}, []],
  ['markup of a template', { text: 'It rains.' }, { text: 'It rains.<|im_end|>' }, {}, ['form']],
  ['an empty answer', { text: 'It rains.' }, {}, {}, ['form']],
  ['the same call', { calls: [call('Oslo')] }, { calls: [call('Oslo')] }, {}, []],
  ['another argument', { calls: [call('Oslo')] }, { calls: [call('Rome')] }, {}, ['calls']],
  ['a call as text', { calls: [call('Oslo')] }, { text: '<tool_call>{}' }, {}, ['form', 'calls']],
  ['JSON with other keys', { text: '{"a":1}' }, { text: '{"b":1}' }, { response_format: { type: 'json_object' } }, ['schema']],
  ['JSON with other values', { text: '{"a":1}' }, { text: '{"a":2}' }, { format: { type: 'object' } }, []],
  ['words that refuse', { text: 'It rains.' }, { text: "I'm sorry, but no." }, {}, ['refusal']],
  ['another script', { text: 'It rains today in Oslo.' }, { text: 'Сегодня в Осло дождь.' }, {}, ['language']],
  ['three times the tokens', { text: 'a' }, { text: 'a b', outputTokens: 40 }, {}, ['length']],
])('%s', (_, before, after, body, wanted) => {
  expect(changesOf(answer(before), answer(after), body).map(({ kind }) => kind)).toEqual(wanted)
})
