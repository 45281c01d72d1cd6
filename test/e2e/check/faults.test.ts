import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDragoman } from '../../../src/app/create-dragoman.ts'
import { type CheckReport, check } from '../../../src/check/check.ts'
import { faults } from '../../support/check/faults.ts'
import { startFaulty } from '../../support/check/faulty-server.ts'
import { roundsOf } from '../../support/process/soak-length.ts'

const findingsOf = ({ results }: CheckReport) =>
  results.flatMap(({ id, outcome, why }) => (outcome === 'finding' ? [`${id}: ${why}`] : []))
const areaOf = (id: string) => id.slice(0, id.indexOf('-'))

describe('a check of a server', () => {
  let dragoman: Awaited<ReturnType<typeof createDragoman>>
  let url: string
  let faulty: Awaited<ReturnType<typeof startFaulty>>
  beforeAll(async () => {
    dragoman = await createDragoman({
      config: { server: { port: 0 }, models: [{ id: 'dragoman-tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf' }] },
    })
    url = await dragoman.listen()
    faulty = await startFaulty(url)
  })
  afterAll(async () => {
    await faulty.close()
    await dragoman.close()
  })

  test('a check has no findings on Dragoman with a real model, and none behind a proxy', async () => {
    const report = await check({ url })
    expect(findingsOf(report)).toEqual([])
    expect(report.requests).toBeLessThan(250)
    faulty.set({ name: 'none', finds: '' })
    const behind = findingsOf(await check({ url: faulty.url }))
    // This proxy sends a stream when it has all of it.
    expect(behind.filter((line) => !line.startsWith('streams-live:'))).toEqual([])
  })

  test('a check of a model that is not there is refused', async () => {
    await expect(check({ url, model: 'nowhere' })).rejects.toThrow(/has no model 'nowhere'/)
  })

  test('a check finds the faults that are seeded into a correct server', async () => {
    expect(faults.length).toBeGreaterThan(100)
    const missed: string[] = []
    const tried = faults.filter((_, index) => index % roundsOf(10, 1) === 0)
    for (const fault of tried) {
      faulty.set(fault)
      const report = await check({ url: faulty.url, only: [areaOf(fault.finds)] })
      const found = findingsOf(report)
      if (!found.some((line) => line.startsWith(`${fault.finds}:`))) {
        const verdict = report.results.find(({ id }) => id === fault.finds)
        missed.push(
          `${fault.name}: ${fault.finds} ${verdict?.outcome} ${verdict?.why ?? ''}; found ${found.join(', ') || 'nothing'}`,
        )
      }
    }
    expect(missed).toEqual([])
  })
})
