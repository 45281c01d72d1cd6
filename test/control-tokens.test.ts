import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { ControlTokensAnswer } from './support/llama/control-tokens-child.ts'

const modelPath = fileURLToPath(new URL('../models/dragoman-tiny.gguf', import.meta.url))

function ask(): Promise<ControlTokensAnswer> {
  const child = fork(fileURLToPath(new URL('./support/llama/control-tokens-child.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  })
  child.send({ modelPath })
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as ControlTokensAnswer))
    child.once('exit', (code, signal) => reject(new Error(`the child ended: ${signal ?? code}`)))
  })
}

test("no string of a request becomes a control token in the built-in model's vocabulary", async () => {
  const { controlTexts, attacks, broken, inTexts } = await ask()
  expect(controlTexts).toContain('<|im_end|>')
  expect(attacks).toBeGreaterThan(200)
  expect(broken).toEqual([])
  // Only token ids, and `/tokenize` on request, let a caller write control tokens.
  expect(
    Object.values(inTexts).every((count) => count === 0),
    JSON.stringify(inTexts),
  ).toBe(true)
})
