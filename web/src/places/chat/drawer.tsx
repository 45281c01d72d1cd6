import type { Signal } from '@preact/signals'
import { allows } from '../../api/session.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import type { Conversation, Settings } from './conversation.ts'
import { change } from './library.ts'
import { type Model, propertiesOf } from './models.ts'
import { PresetFields } from './presets/preset-fields.tsx'
import { jsonProblem, samplingFields } from './request.ts'
import { ServerTools } from './tools/server-tools.tsx'

const texts = chatTexts.drawer

type DrawerProps = {
  readonly conversation: Signal<Conversation>
  readonly model: Model | undefined
  readonly onClose: () => void
}

/** The settings of a conversation; an empty field keeps the value in force, which it shows. */
export function Drawer({ conversation, model, onClose }: DrawerProps) {
  const { settings } = conversation.value
  const inForce = model === undefined ? undefined : propertiesOf(model)?.default_generation_settings?.params
  const set = (changes: Partial<Settings>) =>
    change(conversation, { ...conversation.value, settings: { ...settings, ...changes } })
  const setSampling = (field: string, text: string) => {
    const { [field]: _before, ...others } = settings.sampling
    const value = Number(text)
    set({ sampling: text === '' || !Number.isFinite(value) ? others : { ...others, [field]: value } })
  }
  const setThinking = (value: string) => {
    const { thinking: _thinking, ...others } = settings
    change(conversation, { ...conversation.value, settings: value === '' ? others : { ...others, thinking: value === 'yes' } })
  }
  const reset = () => set({ system: '', sampling: {}, tools: '', schema: '', logprobs: false, serverTools: { names: [] } })
  return (
    <aside class="drawer" aria-label={texts.title}>
      <div class="drawer-head">
        <h2>{texts.title}</h2>
        <IconButton icon="close" name={chatTexts.closeSettings} onClick={onClose} />
      </div>
      <PresetFields
        settings={settings}
        onChoose={(chosen) => {
          const { model: name } = settings
          change(conversation, { ...conversation.value, settings: { ...chosen, ...(name !== undefined && { model: name }) } })
        }}
      />
      <label class="labelled">
        <span>{texts.system}</span>
        <textarea
          class="field"
          rows={4}
          placeholder={texts.systemHint}
          value={settings.system}
          onInput={(event) => set({ system: event.currentTarget.value })}
        />
      </label>
      <h3>{texts.sampling}</h3>
      <div class="sampling">
        {samplingFields.map(({ field, step, ...known }) => (
          <label key={field} class="labelled">
            <span>{texts.names[field]}</span>
            <input
              class="field"
              type="number"
              step={step}
              inputMode="decimal"
              placeholder={'inForce' in known ? texts.inForce(inForce?.[known.inForce]) : texts.unset[field]}
              value={settings.sampling[field] ?? ''}
              onInput={(event) => setSampling(field, event.currentTarget.value)}
            />
          </label>
        ))}
        <label class="labelled">
          <span>{texts.thinking}</span>
          <select
            class="field"
            value={settings.thinking === undefined ? '' : settings.thinking ? 'yes' : 'no'}
            onChange={(event) => setThinking(event.currentTarget.value)}
          >
            {texts.thinkingKinds.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <h3>{texts.output}</h3>
      <JsonField
        name={texts.schema}
        hint={texts.schemaHint}
        kind="object"
        text={settings.schema}
        onText={(schema) => set({ schema })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={settings.logprobs === true}
          onChange={(event) => set({ logprobs: event.currentTarget.checked })}
        />
        {texts.logprobs}
      </label>
      <JsonField
        name={texts.tools}
        hint={texts.toolsHint}
        kind="array"
        text={settings.tools}
        onText={(tools) => set({ tools })}
      />
      {allows('tools') && <ServerTools settings={settings} onChange={(serverTools) => set({ serverTools })} />}
      <Button onClick={reset}>{texts.reset}</Button>
    </aside>
  )
}

type JsonFieldProps = {
  readonly name: string
  readonly hint: string
  readonly kind: 'array' | 'object'
  readonly text: string
  readonly onText: (text: string) => void
}

function JsonField({ name, hint, kind, text, onText }: JsonFieldProps) {
  const problem = jsonProblem(text, kind)
  return (
    <label class="labelled">
      <span>{name}</span>
      <textarea
        class="field mono"
        rows={text === '' ? 2 : 6}
        spellcheck={false}
        placeholder={hint}
        aria-invalid={problem !== undefined}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {problem !== undefined && <span class="bad small">{problem}</span>}
    </label>
  )
}
