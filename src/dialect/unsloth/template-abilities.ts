/** The abilities of a model that its chat template shows, in Unsloth's words. */
type TemplateAbilities = {
  readonly supports_reasoning: boolean
  /** Unsloth sets one even for models without reasoning. */
  readonly reasoning_style: 'enable_thinking' | 'reasoning_effort'
  readonly reasoning_always_on: boolean
  readonly supports_preserve_thinking: boolean
  readonly supports_tools: boolean
}

/**
 * Reads the abilities from the names that a template uses. Without a template here, the tools are shown by the server that runs the model,
 * or by us.
 */
export function readAbilities(template: string | undefined, id: string): TemplateAbilities {
  const source = template ?? ''
  return {
    ...readReasoning(source, id),
    supports_preserve_thinking: source.includes('preserve_thinking'),
    supports_tools:
      template === undefined ||
      /\{%-?\s*(?:if|elif)\b[^%]*\btools\b/.test(source) ||
      /role['"\]]*\s*==\s*['"]tool['"]/.test(source),
  }
}

type Reasoning = Pick<TemplateAbilities, 'supports_reasoning' | 'reasoning_style' | 'reasoning_always_on'>

function readReasoning(source: string, id: string): Reasoning {
  const style = (reasoning_style: Reasoning['reasoning_style'], reasoning_always_on = false): Reasoning => ({
    supports_reasoning: true,
    reasoning_style,
    reasoning_always_on,
  })
  if (source.includes('enable_thinking')) return style('enable_thinking')
  if (source.includes('reasoning_effort')) return style('reasoning_effort')
  if (/\bthinking\b/.test(source) && /deepseek/i.test(id)) return style('enable_thinking')
  const writesThoughts = source.includes('<think>') && source.includes('</think>')
  if (writesThoughts || source.includes('reasoning_content')) return style('enable_thinking', true)
  return { ...style('enable_thinking'), supports_reasoning: false }
}
