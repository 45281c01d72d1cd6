import { readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

/** Pages that lead through the code and the files of deploy/. */
const pages = [
  'docs/inside/how-a-request-travels.md',
  'docs/install.md',
  'docs/operating.md',
  'docs/inside/releasing.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
]

describe.each(pages)('%s', (page) => {
  const address = new URL(`../../${page}`, import.meta.url)
  const text = readFileSync(address, 'utf8')
  const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)

  test('each link leads to a file: the site of the documents has no folders', () => {
    const missing = targets.filter(
      (target) => !/^https?:/.test(target) && statSync(new URL(target, address), { throwIfNoEntry: false })?.isFile() !== true,
    )
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
  const text = readFileSync(new URL('../../docs/inside/how-a-request-travels.md', import.meta.url), 'utf8')
  const steps = text.split(/^ ?\d+\. /m).slice(1)
  expect(steps).toHaveLength(13)
  for (const step of steps) expect(step).toContain('](../../src/')
})
