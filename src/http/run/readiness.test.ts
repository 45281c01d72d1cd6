import { expect, test } from 'vitest'
import type { EngineState } from '../../contract/engine.ts'
import { isReady } from './readiness.ts'

const states = {
  stopped: { type: 'stopped' },
  loading: { type: 'loading', progress: 0 },
  ready: { type: 'ready' },
  failed: { type: 'failed', reason: 'no such file' },
} as const satisfies Record<string, EngineState>

type Case = [state: keyof typeof states, isRequired?: 'yes' | 'no' | 'any', more?: object]

const model = ([state, isRequired = 'any', more]: Case, index: number) => ({
  id: `m${index}`,
  state: states[state],
  isRequired,
  loadsAtStart: true,
  isAwaited: state === 'loading',
  ...more,
})

const onDemand = { loadsAtStart: false }
const second = { standIn: 'm1' }

test.each<[string, Case[], boolean]>([
  ['no models', [], true],
  ['the only model is ready', [['ready']], true],
  ['the only model has failed', [['failed']], false],
  ['one of two has failed', [['ready'], ['failed']], true],
  ['all have failed', [['failed'], ['failed']], false],
  ['one of two is loaded for the first time', [['ready'], ['loading']], false],
  ['one of two is loaded again after a crash', [['ready'], ['loading', 'any', { isAwaited: false }]], true],
  ['the required one of two is ready', [['ready', 'yes'], ['failed']], true],
  ['the required one of two is ready, the other is loaded', [['ready', 'yes'], ['loading']], true],
  ['the required one of two has failed', [['failed', 'yes'], ['ready']], false],
  [
    'one of two required ones has failed',
    [
      ['failed', 'yes'],
      ['ready', 'yes'],
    ],
    false,
  ],
  ['one that does not matter has failed', [['failed', 'no']], true],
  ['one that does not matter is ready, the other has failed', [['ready', 'no'], ['failed']], false],
  ['a model that is loaded on demand', [['stopped', 'any', onDemand]], true],
  ['a required model that is loaded on demand', [['stopped', 'yes', onDemand]], true],
  ['a model that was to be loaded on demand and failed', [['failed', 'any', onDemand]], false],
  [
    'a stand-in answers for a required model',
    [
      ['failed', 'yes', second],
      ['ready', 'no'],
    ],
    true,
  ],
  [
    'a stand-in has failed too',
    [
      ['failed', 'yes', second],
      ['failed', 'no'],
    ],
    false,
  ],
  [
    'a model with a stand-in is still loaded',
    [
      ['loading', 'yes', second],
      ['ready', 'no'],
    ],
    false,
  ],
])('%s', (_, cases, expected) => {
  expect(isReady(cases.map(model))).toBe(expected)
})
