import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../support/http/app.ts'
import { ask, stepsOf } from './ask.ts'
import { readCases } from './case.ts'
import { modelSettings, whySkipped } from './case-models.ts'
import { startCaseUpstream } from './case-upstream.ts'
import { whatFails } from './what-fails.ts'

const cases = readCases()
const runnable = cases.filter((each) => whySkipped(each) === undefined)
const reasons = new Set(cases.map(whySkipped).filter((reason) => reason !== undefined))
for (const reason of reasons) console.warn(`some cases are skipped: ${reason}`)

const builtin = { id: 'dragoman-tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', threads: 1, load: 'demand' }

describe('a case', () => {
  const home = mkdtempSync(join(tmpdir(), 'dragoman-cases-'))
  let app: RunningApp
  let upstream: Awaited<ReturnType<typeof startCaseUpstream>>
  beforeAll(async () => {
    upstream = await startCaseUpstream(runnable)
    const models = runnable.map((each) => modelSettings(each, home, upstream.url)).filter((model) => model !== undefined)
    app = await startApp({ models: [builtin, ...models] as never })
  })
  afterAll(async () => {
    await app?.close()
    await upstream?.close()
    rmSync(home, { recursive: true, force: true })
  })

  for (const each of cases) {
    test.skipIf(!runnable.includes(each))(`${each.name}: ${each.about}`, async () => {
      const model = each.model.builtin === true ? builtin.id : each.id
      const problems: string[] = []
      for (const step of stepsOf(each)) {
        const reply = await ask(app.url, model, step)
        for (const check of step.expect ?? each.expect) {
          const problem = whatFails(check, reply, upstream.seen.get(each.id))
          if (problem !== undefined) problems.push(`${step.path}: ${problem}`)
        }
      }
      expect(problems).toEqual([])
    })
  }
})
