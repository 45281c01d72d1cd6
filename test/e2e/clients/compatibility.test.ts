import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { has, isAcceptance, type Reply, status } from '../../compat/checks.ts'
import { compatibilityDocument, worseThan } from '../../compat/document.ts'
import { type Step, works } from '../../compat/row.ts'
import { runRows } from '../../compat/run-rows.ts'
import { type Servers, startServers } from '../../compat/servers.ts'
import { testIsThere } from '../../compat/shown-by.ts'
import { systems } from '../../compat/systems.ts'

const hint = 'docs/reference/compatibility.md is out of date; regenerate it with: npm run compat'

test('docs/reference/compatibility.md is what the rows say', async () => {
  await expect(compatibilityDocument(systems), hint).toMatchFileSnapshot('../../../docs/reference/compatibility.md')
})

test('no row is there twice', () => {
  const ids = systems.flatMap(({ prefix, groups }) =>
    groups.flatMap(({ rows }) => rows.map(({ number }) => `${prefix}${number}`)),
  )
  expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([])
})

test('a row that is not missing has what proves it, and one that is refused has a reason', () => {
  const rows = systems.flatMap(({ groups }) => groups.flatMap((group) => group.rows))
  expect(rows.filter(({ steps, verdict }) => steps.length === 0 && verdict !== 'missing').map(({ expects }) => expects)).toEqual(
    [],
  )
  expect(rows.filter(({ how, verdict }) => how === '' && verdict !== 'works')).toEqual([])
})

/** It says no more than that a request was accepted, where that is not the row. */
function isMute(step: Step): boolean {
  if (step.type !== 'request') return false
  return step.part !== 'accepts' && step.checks.every(isAcceptance)
}
const isHelp = (step: Step) => step.type === 'request' && ['prepares', 'cleans-up', 'starts'].includes(step.part ?? '')

test.each(systems)(
  'each request of $title shows its row, helps another to, or says that to be accepted is the row',
  ({ groups }) => {
    const rows = groups.flatMap((group) => group.rows).filter(({ verdict }) => verdict !== 'missing')
    const shows = (steps: readonly Step[]) => steps.length > 0 && !steps.some(isMute)
    expect(rows.filter(({ steps }) => !shows(steps.filter((step) => !isHelp(step)))).map(({ number }) => number)).toEqual([])
  },
)

describe('the verdicts', () => {
  let servers: Servers
  beforeAll(async () => {
    servers = await startServers()
  })
  afterAll(() => servers.close())

  test.each(systems)('of $title are true', async (system) => {
    const faults = (await runRows({ servers, testProblem: testIsThere }, system)).filter(({ isRun }) => isRun)
    const shown = (wanted: boolean) =>
      faults.filter(({ isTooLow }) => isTooLow === wanted).map(({ id, step, problem }) => `${id}: ${step}: ${problem}`)
    if (shown(true).length > 0) console.warn(`better than their verdicts: ${shown(true).join('\n')}`)
    expect(shown(false)).toEqual([])
  })
})

describe('a verdict', () => {
  const [first] = systems
  const before = compatibilityDocument(systems)

  test('that gets worse, or a row that is gone, is noticed', () => {
    const worse = systems.map((system) => (system === first ? { ...system, groups: system.groups.slice(1) } : system))
    expect(worseThan(before, systems)).toEqual([])
    expect(worseThan(before, worse)).toContain('L1: was better, and has no row now')
    const lower = { ...systems[0], groups: [{ title: 'routes', rows: [works(1, 'GET /v1/models')] }] } as (typeof systems)[number]
    expect(worseThan(before, [lower])).toContain('L1: was better, is works')
  })

  test('is not true for another status or another value', () => {
    const reply: Reply = {
      status: 404,
      headers: new Headers(),
      text: '{"a":{"b":1}}',
      bytes: Buffer.from('{"a":{"b":1}}'),
      json: { a: { b: 1 } },
      events: [],
      seen: [],
      searches: [],
    }
    expect(status(200)(reply)).toContain('status 404 in place of 200')
    expect(has('a.b', 1)(reply)).toBeUndefined()
    expect(has('a.b', 2)(reply)).toContain('a.b is 1')
    expect(has('a.c')(reply)).toContain('a.c is undefined')
  })
})
