// A process of several steps, of which a host sees only what may come next: `pmcp dev workflow.js`.
import { log, StepResult, tool, workflow } from 'protomcp';

let parcel;

workflow({
  name: 'parcel',
  description: 'Send a parcel',
  // Other tools are hidden meanwhile, but for these.
  allowDuring: ['rates', 'track_*'],
  steps: {
    weigh: {
      description: 'Put it on the scales',
      initial: true,
      next: ['label', 'refuse'],
      args: { type: 'object', properties: { grams: { type: 'number' } }, required: ['grams'] },
      handler({ grams }) {
        parcel = { grams };
        if (grams > 30_000) return new StepResult('It is too heavy.', ['refuse']);
        return new StepResult(`It weighs ${grams} g.`);
      },
    },
    label: {
      description: 'Write the label',
      next: ['pay'],
      args: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
      // An error with this word in it leads on; any other lets the step be tried again.
      onError: { 'no such address': 'refuse' },
      handler({ to }) {
        if (to === 'nowhere') throw new Error('there is no such address');
        parcel.to = to;
        return `It goes to ${to}.`;
      },
    },
    // While this step is due there is no way back.
    pay: { description: 'Pay for it', next: ['hand_over'], noCancel: true, handler: () => 'Paid.' },
    hand_over: {
      description: 'Hand it over',
      terminal: true,
      noCancel: true,
      handler: () => ({ sent: parcel }),
    },
    refuse: { description: 'Take it back', terminal: true, handler: () => 'Nothing was sent.' },
  },
  onCancel: (currentStep) => `Stopped after "${currentStep}".`,
  onComplete: (history) => log.info('a parcel was handled', { steps: history.map(({ step }) => step) }),
});

tool({ name: 'rates', description: 'What parcels cost', handler: () => ({ perKilogram: 3 }) });
tool({ name: 'opening_hours', description: 'When we are here', handler: () => '8 to 18' });
