import { testFieldTable } from '../../../test/support/field-table-suite.ts'
import { openaiCompanions, openaiSamples } from '../../../test/support/upstream/openai-samples.ts'
import { koboldSchema } from './decode.ts'
import { createKobold } from './dialect.ts'
import { koboldFields } from './fields.ts'

const { echo: _, suffix: __, stream: ___, max_tokens: ____, n_probs: _____, ...samples } = openaiSamples

testFieldTable({
  dialect: createKobold({ streams: false }),
  fields: koboldFields,
  base: { model: 'm', prompt: 'Once' },
  /** Of KoboldCpp's description of its API that change a text. */
  properties: [
    'prompt',
    'memory',
    'max_length',
    'temperature',
    'top_k',
    'top_p',
    'min_p',
    'rep_pen',
    'rep_pen_range',
    'stop_sequence',
  ],
  schemaKeys: Object.keys(koboldSchema.shape),
  samples: {
    ...samples,
    add_bos_token: false,
    bypass_eos: true,
    grammar_retain_state: true,
    gui_settings: true,
    logprobs: 5,
    max_context_length: 100,
    max_length: 7,
    memory: 'before ',
    model: 'another',
    n: 2,
    prompt: 'another',
    quiet: true,
    render_special: true,
    replace_instruct_placeholders: true,
    rep_pen_slope: 0.5,
    response_prefix: 'a',
    singleline: true,
    trim_stop: false,
    use_authors_note: true,
    use_default_badwordsids: true,
    use_memory: true,
    use_story: true,
    use_world_info: true,
  },
  companions: { ...openaiCompanions, replace_instruct_placeholders: { prompt: '{{[INPUT]}}a' }, rep_pen_slope: { rep_pen: 1.1 } },
  required: ['model', 'prompt'],
})
