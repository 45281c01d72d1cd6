import { describe, expect, test } from 'vitest'
import { randomSchema } from '../../../test/support/hostile/random-schema.ts'
import { compileJsonSchema, regexToGbnf } from '../../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../../test/support/random.ts'
import { GrammarError } from '../rules/grammar-error.ts'
import { type EffortMeter, GrammarMachine, type MachineState } from './machine.ts'
import { compileProgram } from './program.ts'

function read(machine: GrammarMachine, text: string, meter: EffortMeter): MachineState | undefined {
  let state: MachineState | undefined = machine.start(meter)
  for (const char of text) state = state === undefined ? undefined : machine.step(state, char.codePointAt(0) ?? 0, meter)
  return state
}

const machineOf = (gbnf: string) => new GrammarMachine(compileProgram(gbnf))
const plenty = (): EffortMeter => ({ left: 50_000_000 })
const accepts = (machine: GrammarMachine, text: string) => read(machine, text, plenty())?.isComplete === true

describe('GrammarMachine', () => {
  test.each<[string, string[], string[]]>([
    ['root ::= "yes" | "no" [!?]{1,2}', ['yes', 'no!', 'no?!'], ['', 'y', 'no', 'no!!!', 'yes!']],
    ['root ::= "(" root ")" | "x"?', ['', 'x', '((x))', '()'], ['(', '(x', 'xx']],
    ['root ::= ([a-c]? "b"?)* "c"', ['c', 'abc', 'bbbc'], ['', 'd', 'ab']],
    ['root ::= [^a]{2} | "é" "日本"', ['bc', '日x', 'é日本'], ['ab', 'éa', '日本語']],
    ['root ::= "" | other\nother ::= "a"{3,} | ("x" "y"){0,2}', ['', 'aaa', 'aaaaa', 'xy', 'xyxy'], ['aa', 'x', 'xyxyxy']],
  ])('GrammarMachine matches the texts of %s', (gbnf, accepted, rejected) => {
    const machine = machineOf(gbnf)
    expect(accepted.filter((text) => !accepts(machine, text))).toEqual([])
    expect(rejected.filter((text) => accepts(machine, text))).toEqual([])
  })

  test('GrammarMachine agrees with a plain interpreter of grammars on random schemas, their texts and broken texts', () => {
    const random = createRandom(11)
    let texts = 0
    for (let count = 0; count < 40; count++) {
      let grammar: string
      try {
        grammar = compileJsonSchema(randomSchema(random)).grammar
      } catch (error) {
        if (error instanceof GrammarError) continue
        throw error
      }
      const [plain, machine] = [createMatcher(grammar), machineOf(grammar)]
      for (let sample = 0; sample < 3; sample++) {
        const text = plain.generate(random, 100)
        const at = Math.floor(random() * text.length)
        const broken = [text.slice(0, at), `${text.slice(0, at)}"${text.slice(at)}`, `${text} `]
        expect(accepts(machine, text), text).toBe(true)
        for (const other of broken) expect(accepts(machine, other), other).toBe(plain.matches(other))
        texts++
      }
    }
    expect(texts).toBeGreaterThan(60)
  })

  test('GrammarMachine says whether any character of a range is allowed', () => {
    const machine = machineOf('root ::= [a-cé] | "日"')
    const start = machine.start(plenty())
    const allows = (low: number, high: number) => machine.allowsAnyOf(start, [low, high], plenty())
    expect([
      allows(0x61, 0x61),
      allows(0x80, 0x7ff),
      allows(0x800, 0xffff),
      allows(0x64, 0x7f),
      allows(0x10000, 0x10ffff),
    ]).toEqual([true, true, true, false, false])
  })

  test('GrammarMachine knows the only character that can follow', () => {
    const machine = machineOf('root ::= "aé" ("x" | "xy") [0-9] "z"?')
    const after = (text: string) => machine.onlyNext(read(machine, text, plenty()) as MachineState, plenty())
    const texts = ['', 'a', 'aé', 'aéx', 'aéxy', 'aéx1', 'aéx1z']
    expect(texts.map(after)).toEqual([0x61, 0xe9, 0x78, undefined, undefined, undefined, undefined])
  })

  test('a fresh machine continues from an adopted state', () => {
    const gbnf = 'root ::= "[" (root ("," root)*)? "]" | [0-9]{1,4}'
    const [first, second] = [machineOf(gbnf), machineOf(gbnf)]
    const state = second.adopt(read(first, '[[1,23', plenty()) as MachineState, plenty())
    let at: MachineState | undefined = state
    for (const char of '45],6]') at = at === undefined ? undefined : second.step(at, char.charCodeAt(0), plenty())
    expect(at?.isComplete).toBe(true)
  })

  test.each([
    ['doubles its ways with every character', 's ::= [a-z ] s "a" | [a-z ] s "b" | [a-z ]\nroot ::= s', 'a'.repeat(40)],
    ['begins with itself', 'root ::= root "a" | "b"', 'b'],
  ])('a grammar that %s ends with an error that names the limit', (_, gbnf, text) => {
    const attempt = () => read(machineOf(gbnf), text, plenty())
    expect(attempt).toThrow(
      expect.objectContaining({ kind: 'grammar-too-large', message: expect.stringMatching(/more than 16384 ways/) }),
    )
  })

  test('work beyond the meter ends with an error', () => {
    expect(() => read(machineOf('root ::= [a-z]{0,500}'), 'a'.repeat(400), { left: 2000 })).toThrow(/too much work/)
  })

  test.each(['(\\w+\\s?)+', '(a?){200}a{200}', '.*.*.*', '(a|b|ab)*c'])('%s takes little work for each character', (pattern) => {
    const machine = machineOf(regexToGbnf(pattern).grammar)
    const meter = plenty()
    read(machine, 'ab'.repeat(100), meter)
    expect(plenty().left - meter.left).toBeLessThan(2_000_000)
  })
})
