import { pino } from 'pino'
import { describe } from 'vitest'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import { describeEngineContract } from '../../engine-contract.ts'

/** A server of any kind that already runs, such as vLLM: `http://127.0.0.1:8000/v1`. docs/engines says what was tried with it. */
const url = process.env.DRAGOMAN_TEST_UPSTREAM

describe.skipIf(url === undefined)(
  `a server that already runs${url === undefined ? ' (skipped: set DRAGOMAN_TEST_UPSTREAM)' : ''}`,
  () => {
    describeEngineContract(`remote, over ${url}`, {
      longPrompt: 'Tell me a long story about the sea.',
      create: async () => {
        const log = pino({ level: 'silent' })
        return createRemoteEngine({ id: 'upstream', endpoints: [{ url: url ?? '', weight: 1 }], connections: 8, log })
      },
    })
  },
)
