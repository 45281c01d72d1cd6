import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { randomModel, realModel, realModelHint } from './support/llama/models.ts'

type Answer = { joined: string[]; endTexts: string[]; controlTexts: string[]; controlBytes: number[] }

const texts = [
  'Hello, world!',
  '  two  spaces\n\n\ttab',
  '😀🎉 日本語 Ünïcödé',
  '<|im_end|>',
  'a\u0000b',
  '\u2028 line',
  'x'.repeat(5000),
]

function readVocabulary(modelPath: string): Promise<Answer> {
  const child = fork(fileURLToPath(new URL('./support/llama/vocabulary-child.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  })
  child.send({ modelPath, texts })
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as Answer))
    child.once('exit', (code, signal) => reject(new Error(`the child ended: ${signal ?? code}`)))
  })
}

function check(answer: Answer): void {
  expect(answer.joined.map((bytes) => Buffer.from(bytes, 'base64').toString())).toEqual(texts)
  expect(answer.endTexts).toContain('<|im_end|>')
  expect(answer.controlTexts).toEqual(expect.arrayContaining(['<|im_start|>', '<|im_end|>']))
  expect(answer.controlBytes, 'a control token adds nothing to the output').toEqual([0])
}

describe("the bytes of a text's tokens, joined, are the text", () => {
  test('on the random model', async () => check(await readVocabulary(await randomModel())))

  test.skipIf(realModel === undefined)(`on the default model${realModelHint}`, async () =>
    check(await readVocabulary(realModel ?? '')),
  )
})
