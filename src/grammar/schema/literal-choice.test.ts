import { describe, expect, test } from 'vitest'
import { compileJsonSchema } from '../../../test/support/llama/compile-json-schema.ts'
import { GrammarMachine, type MachineState } from '../run/machine.ts'
import { compileProgram } from '../run/program.ts'

function open(values: readonly unknown[]) {
  const { grammar } = compileJsonSchema({ enum: values })
  const machine = new GrammarMachine(compileProgram(grammar))
  let most = 0
  const accepts = (text: string): boolean => {
    let state: MachineState | undefined = machine.start({ left: 10_000_000 })
    for (const char of text) {
      most = Math.max(most, state?.ways.length ?? 0)
      state = state && machine.step(state, char.codePointAt(0) ?? 0, { left: 10_000_000 })
    }
    return state?.isComplete === true
  }
  return { accepts, mostWays: () => most }
}

describe('the grammar of listed values', () => {
  const words = Array.from({ length: 3000 }, (_, index) => `word ${(index * 7919) % 100_003}`)
  const nested = Array.from({ length: 120 }, (_, index) => 'ab'.repeat(index))

  test.each<[string, unknown[], unknown[]]>([
    ['words', words, ['word', 'word 100003', 'word 7919 ', '']],
    ['texts that begin with one another', nested, ['a', 'aba', 'b', 'ab'.repeat(120)]],
    [
      'values of all kinds',
      [...words.slice(0, 20), 1, 12, -1, null, true, { a: 1 }, [1, 2], 'é', '日本', '"', '\\'],
      [2, false, 'e', {}, [1]],
    ],
  ])('the grammar holds exactly these: %s', (_, values, others) => {
    const { accepts } = open(values)
    expect(values.filter((value) => !accepts(JSON.stringify(value)))).toEqual([])
    expect(others.filter((value) => accepts(JSON.stringify(value)))).toEqual([])
  })

  test('the grammar follows a few ways, and not one for each value', () => {
    const { accepts, mostWays } = open(words)
    for (const word of words.slice(0, 100)) accepts(JSON.stringify(word))
    expect(mostWays()).toBeLessThan(15)
  })
})
