import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../test/support/llama/llama-templates.ts'
import { contexts, hashOf, recordedRenders, renderedAt } from '../../test/support/llama/template-renders.ts'
import { compileJinja } from './jinja-template.ts'
import { JinjaError } from './values/jinja-error.ts'

/** The chat templates in llama.cpp's sources, which node-llama-cpp brings, in place of copies of our own. */
const templates = readLlamaTemplates()
if (templates === undefined) console.warn('real chat templates are not rendered: node-llama-cpp is not installed')

/** By template, the hash of its source and those of Python's renders; `-` where Python refuses the conversation. */
const recorded: Readonly<Record<string, string>> = existsSync(recordedRenders)
  ? JSON.parse(readFileSync(recordedRenders, 'utf8'))
  : {}

describe.skipIf(templates === undefined)('a real chat template', () => {
  test('a real chat template is recorded', () => {
    const unknown = [...(templates ?? [])].filter(([name, source]) => recorded[name]?.split(' ')[0] !== hashOf(source))
    // Record again: npx vitest run --project e2e test/e2e/models/template-renders.test.ts -u
    expect(unknown.map(([name]) => name)).toEqual([])
    expect(Object.keys(recorded).length).toBeGreaterThan(60)
  })

  test.each([...(templates ?? [])])('%s renders as Python renders it', (name, source) => {
    const [, ...hashes] = recorded[name]?.split(' ') ?? []
    const template = compileJinja(source, { now: renderedAt })
    const rendered = contexts.map((context) => {
      try {
        return hashOf(template.render(context))
      } catch (error) {
        if (error instanceof JinjaError) return '-'
        throw error
      }
    })
    const differing = rendered.flatMap((hash, index) => (hash === hashes[index] ? [] : [index]))
    expect(differing).toEqual([])
    expect(rendered).toHaveLength(hashes.length)
  })
})
