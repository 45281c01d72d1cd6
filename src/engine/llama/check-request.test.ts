import { expect, test } from 'vitest'
import { refuseTemperatureFirst } from './check-request.ts'

test('temperature before the other samplers is refused, where it would make a difference', () => {
  const check = (temperatureLast: boolean | undefined, temperature: number) =>
    refuseTemperatureFirst({ sampling: temperatureLast === undefined ? {} : { temperatureLast } }, { temperature })
  expect(() => check(false, 0.8)).toThrow(
    expect.objectContaining({ code: 'unsupported-field', at: ['sampling', 'temperatureLast'] }),
  )
  for (const [last, temperature] of [
    [true, 0.8],
    [undefined, 0.8],
    [false, 0],
    [false, 1],
  ] as const) {
    expect(() => check(last, temperature)).not.toThrow()
  }
})
