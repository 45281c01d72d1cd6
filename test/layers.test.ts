import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { allowed, findViolations, mayImport, pure, readImports } from '../scripts/layers.ts'

const src = fileURLToPath(new URL('../src', import.meta.url))
const imports = readImports(src)
const folders: readonly string[] = Object.keys(allowed)

/** A file of each folder of the list. */
const fileOf = new Map(
  folders.map((folder) => {
    const inside = folder === '.' ? 'index.ts' : undefined
    return [folder, inside ?? [...imports.keys()].find((file) => file.slice(0, file.lastIndexOf('/')) === folder) ?? '']
  }),
)

/** What would be wrong with these imports of one file. */
function violationsOf(file: string, ...targets: string[]): string[] {
  const files = targets.filter((target) => imports.has(target)).map((target) => [target, []] as const)
  return findViolations(new Map<string, readonly string[]>([...files, [file, targets]]))
}

/** What would be wrong if these imports were there, too. */
function violationsWith(file: string, ...targets: string[]): string[] {
  return findViolations(new Map([...imports, [file, [...(imports.get(file) ?? []), ...targets]]]))
}

describe('what a folder may import', () => {
  test('the product keeps every rule', () => {
    expect(findViolations(imports)).toEqual([])
  })

  test('every folder of the list has files', () => {
    expect(folders.filter((folder) => fileOf.get(folder) === '')).toEqual([])
  })

  test.each(folders)('%s must not import what its rule does not name', (from) => {
    const file = fileOf.get(from) ?? ''
    const targets = folders.filter((to) => !mayImport(from, to)).map((to) => fileOf.get(to) ?? '')
    const violations = violationsOf(file, ...targets).join('\n')
    for (const target of targets) expect(violations).toContain(`${file}: ${from} may not import ${target}`)
  })

  test.each(pure.flatMap((folder) => ['node:fs', 'zod'].map((name) => [folder, name] as const)))(
    '%s must not import %s',
    (folder, name) => {
      expect(violationsOf(fileOf.get(folder) ?? '', name)).toHaveLength(1)
    },
  )

  test('a new folder is forbidden until it is listed', () => {
    const withNew = new Map([
      ...imports,
      ['new/file.ts', []],
      ['http/server.ts', [...(imports.get('http/server.ts') ?? []), 'new/file.ts']],
    ])
    expect(findViolations(withNew)).toEqual([
      expect.stringContaining('http may not import new/file.ts'),
      expect.stringContaining('new/file.ts: its folder is not listed'),
    ])
  })

  test('a file beside the public door is forbidden', () => {
    expect(findViolations(new Map([...imports, ['loose.ts', []]]))).toHaveLength(1)
  })

  test('files that import each other are a circle, and so are folders', () => {
    const circles = findViolations(
      new Map([
        ['core/a.ts', ['core/b.ts']],
        ['core/b.ts', ['core/a.ts']],
        ['core/schedule/c.ts', []],
      ]),
    )
    expect(circles).toEqual(['circle: core/a.ts, core/b.ts'])
    expect(violationsWith('jinja/values/value.ts', 'model-text/template/chat-template.ts')).toContain(
      'circle: jinja, jinja/filters, jinja/operations, jinja/syntax, jinja/texts, jinja/values, model-text/template',
    )
  })
})
