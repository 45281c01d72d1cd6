import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Homes } from './homes.ts'

const server = (name: string | number, weight = 1) => ({ isFar: false, endpoint: { id: `http://${name}:8000/v1`, weight } })
const servers = Array.from({ length: 50 }, (_, index) => server(index))
const conversations = Array.from({ length: 2000 }, (_, index) => key(`conversation ${index}`))

test('processes that list the servers in another order find the same homes', () => {
  const one = homesOf(servers)
  const other = homesOf(servers.toReversed())
  for (const root of conversations.slice(0, 100)) {
    const names = [one, other].map((homes) => homes.of(root, []).map(({ endpoint }) => endpoint.id))
    expect(names[0]).toHaveLength(4)
    expect(names[1]).toEqual(names[0])
  }
})

test('a server that leaves moves only its own conversations, each to its second home', () => {
  const homes = homesOf(servers)
  const before = conversations.map((root) => homes.of(root, []))
  const gone = servers[7] as (typeof servers)[number]
  homes.remove(gone)
  for (const [index, root] of conversations.entries()) {
    const left = before[index]?.filter((home) => home !== gone)
    expect(homes.of(root, [])[0]).toBe(left?.[0])
  }
})

test('conversations spread evenly, by weight', () => {
  const heavy = server('heavy', 3)
  const counts = countsOf(homesOf([...servers.slice(0, 9), heavy]), () => [])
  expect(counts.get(heavy)).toBeGreaterThan(420)
  expect(counts.get(heavy)).toBeLessThan(580)
  expect(Math.max(...servers.slice(0, 9).map((one) => counts.get(one) ?? 0))).toBeLessThan(220)
})

describe('conversations with one beginning', () => {
  const mostOf = (share: number) => {
    const group = { key: key('system'), share }
    const counts = [...countsOf(homesOf(servers), () => [group]).values()].toSorted((a, b) => b - a)
    return counts.slice(0, 10).reduce((sum, count) => sum + count, 0) / conversations.length
  }

  test('share a few servers if they are a small part of the requests', () => {
    expect(mostOf(0.01)).toBeGreaterThan(0.6)
  })

  test('spread over all if they are most of them', () => {
    expect(mostOf(1)).toBeLessThan(0.3)
  })

  test('keep most of their homes while the estimate of their part changes', () => {
    const homes = homesOf(servers)
    const firstOf = (share: number) => conversations.map((root) => homes.of(root, [{ key: key('system'), share }])[0])
    const [before, after] = [firstOf(0.05), firstOf(0.06)]
    expect(before.filter((home, index) => home !== after[index]).length).toBeLessThan(0.15 * conversations.length)
  })
})

function key(text: string) {
  const digest = createHash('sha1').update(text).digest()
  return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) }
}

function homesOf(members: readonly (typeof servers)[number][]) {
  const homes = new Homes<(typeof servers)[number]>()
  for (const member of members) homes.add(member)
  return homes
}

function countsOf(homes: ReturnType<typeof homesOf>, groupsOf: () => Parameters<typeof homes.of>[1]) {
  const counts = new Map<(typeof servers)[number], number>()
  for (const root of conversations) {
    const [home] = homes.of(root, groupsOf())
    if (home !== undefined) counts.set(home, (counts.get(home) ?? 0) + 1)
  }
  return counts
}
