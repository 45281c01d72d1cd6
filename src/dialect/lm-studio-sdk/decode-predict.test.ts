import { expect, test } from 'vitest'
import { decodePredict } from './decode-predict.ts'

const decode = (name: string, value: unknown) => {
  const config = { fields: [{ key: `llm.prediction.${name}`, value }] }
  const history = { messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello.' }] }] }
  return decodePredict('m', { history, predictionConfigStack: { layers: [{ config }] } }, 'id').request
}
const checked = (value: number) => ({ checked: true, value })

test.each([
  ['llama.xtcProbability', { xtc: { probability: 0.5 } }],
  ['llama.xtcThreshold', { xtc: { threshold: 0.5 } }],
  ['llama.presencePenalty', { presencePenalty: 0.5 }],
  ['llama.frequencyPenalty', { frequencyPenalty: 0.5 }],
  ['minPSampling', { minP: 0.5 }],
])('the setting %s counts where it is checked', (name, sampling) => {
  expect(decode(name, checked(0.5)).sampling).toMatchObject(sampling)
  const without = decode('other', 0).sampling
  expect(decode(name, { checked: false, value: 0.5 }).sampling).toEqual(without)
})

test.each([
  ['logProbs', checked(5), /^llm\.prediction\.logProbs 5 is not supported: ask for log-probabilities/],
  ['toolCallStopStrings', ['x'], /^llm\.prediction\.toolCallStopStrings \["x"\] is not supported: send "stopStrings"/],
])('the setting %s, whose effect would be missing, is refused', (name, value, message) => {
  expect(() => decode(name, value)).toThrow(message)
})

test.each([
  ['logProbs', { checked: false, value: 0 }],
  ['toolCallStopStrings', []],
])('the setting %s may be off', (name, value) => {
  expect(decode(name, value).sampling).toEqual(decode('other', 0).sampling)
})
