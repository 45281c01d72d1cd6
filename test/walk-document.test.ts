import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

/** Pages that lead through the code and the files of deploy/. */
const pages = [
  'docs/how-a-request-travels.md',
  'docs/install.md',
  'docs/operating.md',
  'docs/releasing.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
]

describe.each(pages)('%s', (page) => {
  const address = new URL(`../${page}`, import.meta.url)
  const text = readFileSync(address, 'utf8')
  const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)

  test('what it links to is there', () => {
    const missing = targets.filter((target) => !/^https?:/.test(target) && !existsSync(new URL(target, address)))
    expect(missing).toEqual([])
  })

  test('what it links to within the page is there', () => {
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    const anchors = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor)
    expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([])
  })
})

test('the walk names a file for each of its steps', () => {
  const text = readFileSync(new URL('../docs/how-a-request-travels.md', import.meta.url), 'utf8')
  const steps = text.split(/^ ?\d+\. /m).slice(1)
  expect(steps).toHaveLength(13)
  for (const step of steps) expect(step).toContain('](../src/')
})
