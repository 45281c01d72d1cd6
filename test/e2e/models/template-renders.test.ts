import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { compileJinja } from '../../../src/jinja/jinja-template.ts'
import { JinjaError } from '../../../src/jinja/values/jinja-error.ts'
import { readLlamaTemplates } from '../../support/llama/llama-templates.ts'
import { contexts, recordedRenders, recordOf, renderedAt, renderWithPython } from '../../support/llama/template-renders.ts'

const templates = readLlamaTemplates() ?? new Map<string, string>()
const python = templates.size === 0 ? 'node-llama-cpp is not installed' : renderWithPython(templates)
if (typeof python === 'string') console.warn(`templates are not compared with Python: ${python}`)

test.skipIf(typeof python === 'string')('real chat templates render as the jinja2 that is installed renders them', async () => {
  const texts = python as Exclude<typeof python, string>
  for (const [name, source] of templates) {
    const template = compileJinja(source, { now: renderedAt })
    const rendered = contexts.map((context) => {
      try {
        return template.render(context)
      } catch (error) {
        if (error instanceof JinjaError) return null
        throw error
      }
    })
    expect.soft({ name, rendered }).toEqual({ name, rendered: texts[name] })
  }
  // The record that `src/jinja/llama-templates.test.ts` reads where there is no Python.
  await expect(recordOf(templates, texts)).toMatchFileSnapshot(fileURLToPath(recordedRenders))
})
